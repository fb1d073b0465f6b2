// Describes why a module could not be loaded on demand: after an incomplete installation, or after an update
// during operation, files can be missing. Node's own message contains no remedy.

/** Returns the text after the name of the module: "cannot be loaded …". */
export function describeLoadError(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const why = [code, name].find((each) => typeof each === 'string' && /^\w{1,60}$/.test(each)) ?? 'Error';
  return `cannot be loaded (${why}): the gateway's installation is incomplete, or has changed while it ran; reinstall it (npm ci, npm run build) and restart it`;
}
