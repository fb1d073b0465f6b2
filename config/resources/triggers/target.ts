// The type of a target: the agent, fleet or flow that answers the events of a command, a rule or a trigger.

export const targetKinds = ['agent', 'fleet', 'flow'] as const;

/** Kind of target. */
export type TargetKind = (typeof targetKinds)[number];

export interface Target {
  readonly kind: TargetKind;
  readonly name: string;
}

export const agentTarget = (name: string): Target => ({ kind: 'agent', name });

/** Like `agentTarget`, for a name that may be undefined. */
export const optionalAgent = (name: string | undefined) =>
  name === undefined ? undefined : agentTarget(name);

/** Returns a text such as `agent reviewer`. */
export const targetText = ({ kind, name }: Target) => `${kind} ${name}`;

/** Two undefined targets are equal. */
export function isSameTarget(one: Target | undefined, other: Target | undefined): boolean {
  return one?.kind === other?.kind && one?.name === other?.name;
}
