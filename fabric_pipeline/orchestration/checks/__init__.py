"""The asset checks: nothing lost, reviewed by a human, ledger and table agree."""
