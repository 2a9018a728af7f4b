"""The web portal: map, matrix, incidents, tickets and the auditor's tables, for people on the site's network.

Routes ask the same workflows as the command line and the assets; nothing is judged, drafted or stored here
by other rules than theirs. Drawing and HTML stand here and nowhere else.
"""
