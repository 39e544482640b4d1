"""Every long run whose outcome is kept in results/, as one resumable command."""
