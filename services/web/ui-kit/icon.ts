/** The sign of the product, for the tab of the browser. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f7a55"/><path d="M18 5 8 18h6l-2 9 12-14h-7z" fill="#fff"/></svg>'
