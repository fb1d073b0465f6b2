// Names with wildcards, as repositories and branches have them: `*` stands for anything within a segment, `**` for
// anything at all, `?` for one character. Only the form is checked here.

/** What is wrong with a pattern of `owner/repo`, or undefined. Hosts with groups in groups have more parts. */
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

/** What is wrong with a pattern of a branch, or undefined. */
export function branchFault(pattern: string): string | undefined {
  if (pattern.startsWith('refs/')) return 'must be the name of a branch, without refs/heads/';
  return wildcardFault(pattern);
}

function wildcardFault(pattern: string): string | undefined {
  if (pattern.length > 256) return 'must not be longer than 256 characters';
  if (/[\s~^:\\]/.test(pattern)) return 'must not hold spaces or any of ~ ^ : \\';
  if (/[[\](){}!|]/.test(pattern)) return 'may hold the wildcards * ** and ? only';
  if (pattern.startsWith('/') || pattern.endsWith('/') || pattern.includes('//'))
    return 'must not begin or end with a slash, or hold two in a row';
  return undefined;
}
