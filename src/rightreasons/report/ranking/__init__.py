"""The models of several reports on the same items: which is the most accurate, and for which reasons?"""
