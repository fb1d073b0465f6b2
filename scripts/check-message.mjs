// node scripts/check-message.mjs FILE: prints a commit message's faults, and exits with 1 if there are
// any. Messages that Git writes itself (merges, reverts, fixups) pass. The rules are in CONTRIBUTING.md.

import { readFileSync } from 'node:fs';

const WIDTH = 72;

/** Returns a commit message's faults, one sentence each. */
function faultsOf(message) {
  // Removes the diff that `git commit --verbose` appends, and the comments.
  const text = message.replace(/^# -+ >8 -+[\s\S]*/m, '');
  const [subject = '', second = '', ...body] = text.split('\n').filter((line) => !line.startsWith('#'));
  if (/^(?:Merge|Revert|fixup!|squash!|amend!) /.test(subject)) return [];
  const faults = [];
  if (!/^[a-z][\w./-]*(?:, ?[\w./-]+)*: \S/.test(subject))
    faults.push(
      `the subject is not "area: imperative", such as "inbox: drop claims of dead nodes": ${subject}`,
    );
  if (subject.length > WIDTH)
    faults.push(`the subject has ${subject.length} characters, at most ${WIDTH} are allowed: ${subject}`);
  if (/\.$/.test(subject)) faults.push(`the subject ends with a full stop: ${subject}`);
  if (second !== '') faults.push('the second line is not empty');
  // A line without spaces, such as a URL, cannot be wrapped.
  for (const line of body)
    if (line.length > WIDTH && line.trim().includes(' '))
      faults.push(`a line of the body has ${line.length} characters, wrap it at ${WIDTH}: ${line}`);
  return faults;
}

const faults = faultsOf(readFileSync(process.argv[2], 'utf8'));
for (const fault of faults) console.error(`commit message: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
