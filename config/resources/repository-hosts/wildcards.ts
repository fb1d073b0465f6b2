// Checks the patterns for repositories and branches in triggers of repository hosts. `*` matches any text
// without a slash, `**` any text, and `?` one character.

/**
 * Returns the error message if an `owner/repo` pattern is invalid. Hosts with nested groups allow more parts.
 */
export function repositoryFault(pattern: string, maxParts = 2): string | undefined {
  const fault = wildcardFault(pattern);
  if (fault !== undefined) return fault;
  if (pattern === '*' || pattern === '**') return undefined;
  const count = pattern.split('/').length;
  if (count >= 2 && count <= maxParts) return undefined;
  return maxParts === 2
    ? 'must be owner/repo, such as my-org/* or my-org/website'
    : 'must be group/project, such as my-group/*, my-group/team/website or my-group/**';
}

/** Returns the error message if a branch pattern is invalid. */
export function branchFault(pattern: string): string | undefined {
  if (pattern.startsWith('refs/')) return 'must be the name of a branch, without refs/heads/';
  return wildcardFault(pattern);
}

function wildcardFault(pattern: string): string | undefined {
  if (pattern.length > 256) return 'must not be longer than 256 characters';
  if (/[\s~^:\\]/.test(pattern)) return 'must not contain spaces or any of ~ ^ : \\';
  if (/[[\](){}!|]/.test(pattern)) return 'may only contain the wildcards * ** and ?';
  if (pattern.startsWith('/') || pattern.endsWith('/') || pattern.includes('//'))
    return 'must not begin or end with a slash, or contain two in a row';
  return undefined;
}
