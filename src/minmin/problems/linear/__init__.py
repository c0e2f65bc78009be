"""Linear models: a loss of the margins Xx + Yy, with a penalty per column."""
