select subject from message use index for order by (i_sent) where sender < 25000 order by sent;
