select subject from message use index () where sender = 5;
