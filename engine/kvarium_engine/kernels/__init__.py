"""What runs on the device: each kernel's torch reference, which is the truth and runs everywhere."""
