select subject from message force index (i_folder_sent) where sent = date '2012-02-03';
