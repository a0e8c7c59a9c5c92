// What the service worker knows besides what a browser gives it.

/** The edition of humanmcp: the desk writes it before the script. */
declare const EDITION: string;
