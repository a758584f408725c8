select subject from message ignore index (primary) where id < 100;
