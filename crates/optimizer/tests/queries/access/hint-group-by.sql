select folder, min(sent) from message ignore index for group by (i_folder_sent) group by folder;
