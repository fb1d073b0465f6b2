/** Returns the path of a server in the API. */
export const pathOf = (id: string): string => `servers/${encodeURIComponent(id)}`;
