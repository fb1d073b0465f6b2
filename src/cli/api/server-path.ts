/** Returns the server's API path. */
export const pathOf = (id: string): string => `servers/${encodeURIComponent(id)}`;
