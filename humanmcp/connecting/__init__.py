"""What a host needs to start humanmcp: the hosts, the command, and what to paste where."""
