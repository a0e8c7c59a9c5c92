"""The inbox on PostgreSQL: several processes, on several machines, meet in one database."""
