// Who may decide about an approval. Only what the files say and ids that a platform vouches for count: nothing that a tool, a model or
// the text of an event says.
//
// WMD1  the same name on another platform, or with another account, is somebody else, and may not.
// WMD2  whoever asked may not, unless the files say so. In doubt whether it is the same person it is.

import type { ApprovalBody, Person } from './approval-record.ts';

/** Somebody in a chat. */
export interface ChatDecider extends Person {
  /** Where it was said, by all names that the platform has for it. */
  readonly channels: readonly string[];
}

/** Undefined: they may; else why not, for them and for the record. */
export function refusalOf(
  { rights, requestedBy }: Pick<ApprovalBody, 'rights' | 'requestedBy'>,
  decider: ChatDecider,
): string | undefined {
  const { approvers, home, selfApproval } = rights;
  if (home === undefined || decider.platform !== home.platform || decider.account !== home.account)
    return 'it is not decided here';
  const names = namesOf(decider);
  if (approvers.length > 0) {
    if (!isAmong(approvers, names)) return NOT_NAMED;
  } else if (rights.channel === undefined || !decider.channels.includes(home.place))
    return 'only people in the channel where it was asked may decide';
  return selfRefusal(selfApproval, requestedBy, names);
}

/** The same of somebody who is named by an operator: that they are in a channel nobody can say. */
export function refusalOfNamed(
  { rights, requestedBy }: Pick<ApprovalBody, 'rights' | 'requestedBy'>,
  name: string,
): string | undefined {
  const { approvers, selfApproval } = rights;
  if (!isAmong(approvers, [name])) return NOT_NAMED;
  return selfRefusal(selfApproval, requestedBy, [name]);
}

const NOT_NAMED = 'only those who are named as approvers may decide';

function selfRefusal(
  selfApproval: boolean,
  requestedBy: Person | undefined,
  names: readonly string[],
): string | undefined {
  if (selfApproval || requestedBy === undefined || !isSame(namesOf(requestedBy), names)) return undefined;
  return 'whoever asked may not decide';
}

const namesOf = ({ user, aliases }: Person): readonly string[] => [user, ...aliases];

/** `names` are as a platform has them; of those that it has in small letters the case in the file does not matter. */
function isAmong(known: readonly string[], names: readonly string[]): boolean {
  const plain = new Set(known.flatMap((name) => [plainName(name), plainName(name).toLowerCase()]));
  return names.some((name) => plainName(name) !== '' && plain.has(plainName(name)));
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  const names = new Set(one.map((name) => plainName(name).toLowerCase()));
  return other.some((name) => names.has(plainName(name).toLowerCase()));
}

const plainName = (name: string) => name.trim().replace(/^@/, '');
