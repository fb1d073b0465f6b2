// Checks who may decide an approval. Only the files and ids verified by a platform count, never texts of
// tools, models or events. The same name on another platform or account is a different person. The requester
// may not decide unless the files allow it. Names that may belong to the same person count as one person. Any
// person may have made a request in the name of a chat, so only an operator decides it.

import type { ApprovalBody, Person } from './record.ts';

/** A person who decides in a chat. */
export interface ChatDecider extends Person {
  /** All names that the platform has for the chat. */
  readonly channels: readonly string[];
}

/** Returns undefined if the person may decide, else the reason for them and for the record. */
export function refusalOf(
  { rights, requestedBy }: Pick<ApprovalBody, 'rights' | 'requestedBy'>,
  decider: ChatDecider,
): string | undefined {
  const { approvers, home, selfApproval } = rights;
  if (home === undefined || decider.platform !== home.platform || decider.account !== home.account)
    return 'the decision must be made where the approval was requested';
  const names = namesOf(decider);
  if (approvers.length > 0) {
    if (!isAmong(approvers, names)) return NOT_AN_APPROVER;
  } else if (rights.channel === undefined || !decider.channels.includes(home.place))
    return 'only people in the channel of the request may decide';
  return selfRefusal(selfApproval, requestedBy, names);
}

/** Checks a person for whom an operator decides. Only named approvers are accepted: channels are unknown. */
export function refusalForName(
  { rights, requestedBy }: Pick<ApprovalBody, 'rights' | 'requestedBy'>,
  name: string,
): string | undefined {
  const { approvers, selfApproval } = rights;
  if (!isAmong(approvers, [name])) return NOT_AN_APPROVER;
  return selfRefusal(selfApproval, requestedBy, [name]);
}

const NOT_AN_APPROVER = 'only named approvers may decide';

function selfRefusal(
  selfApproval: boolean,
  requestedBy: Person | undefined,
  names: readonly string[],
): string | undefined {
  if (selfApproval || requestedBy === undefined) return undefined;
  if (requestedBy.isShared === true)
    return 'the request was made in the name of a chat, so only an operator may decide';
  return isSame(namesOf(requestedBy), names) ? 'the requester may not decide' : undefined;
}

/** Returns all names that the platform has verified for the person. */
const namesOf = ({ user, aliases }: Person): readonly string[] => [user, ...aliases];

/** Compares names of the platform with names in the file; a lower-case name matches any case in the file. */
function isAmong(approvers: readonly string[], names: readonly string[]): boolean {
  const plain = new Set(approvers.flatMap((name) => [plainName(name), plainName(name).toLowerCase()]));
  return names.some((name) => plainName(name) !== '' && plain.has(plainName(name)));
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  const names = new Set(one.map((name) => plainName(name).toLowerCase()));
  return other.some((name) => names.has(plainName(name).toLowerCase()));
}

const plainName = (name: string) => name.trim().replace(/^@/, '');
