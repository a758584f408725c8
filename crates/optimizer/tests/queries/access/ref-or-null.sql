select subject from message where sender = 5 or sender is null;
