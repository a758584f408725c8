select subject from message force index (i_folder_sent) where folder > 3 and sent = date '2012-02-03';
