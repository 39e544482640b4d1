"""What recurrent and static arithmetic share."""
