"""The kvarium server: live sessions, recordings, their API and the command line."""
