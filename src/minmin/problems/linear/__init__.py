"""Linear models: a loss of the margins Xx + Yy, plus a penalty per column."""
