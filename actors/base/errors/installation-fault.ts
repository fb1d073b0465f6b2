// What is loaded only where it is needed may be missing then: an install that broke off, a file that was removed under a gateway that
// runs. Node's own words name a file; these say what to do.

/** After what could not be loaded: "cannot be loaded …". */
export function installationFault(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const why = [code, name].find((each) => typeof each === 'string' && /^\w{1,60}$/.test(each)) ?? 'Error';
  return `cannot be loaded (${why}): the installation of the gateway is not whole, or has changed under it; install it again (npm ci, npm run build) and restart it`;
}
