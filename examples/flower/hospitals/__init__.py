"""A Flower app: hospitals fit one model together, and their data and a part of the model stay private."""
