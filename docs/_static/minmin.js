// A browser fetches no text of other pages from a disk, so a search there shows titles alone.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
