// Shows the members of a fleet (several agents that answer one event together) in a run: state, vote,
// response.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { Pill } from '../pill.tsx';
import { memberState, tookText } from './node-text.ts';

interface MemberListProps {
  readonly members: readonly MemberRecord[];
  readonly isOver: boolean;
  /** Definition of the fleet; undefined if unavailable. */
  readonly fleet: FleetPlan | undefined;
}

export function MemberList({ members, isOver, fleet }: MemberListProps) {
  return (
    <ul class="members" aria-label="Members">
      {members.map((member) => (
        <Member
          key={member.path}
          member={member}
          isOver={isOver}
          definition={fleet?.members.find(({ name }) => name === member.name)}
        />
      ))}
    </ul>
  );
}

interface MemberProps extends Pick<MemberListProps, 'isOver'> {
  readonly member: MemberRecord;
  /** Undefined if the fleet's definition is not available. */
  readonly definition: FleetPlan['members'][number] | undefined;
}

function Member({ member, definition, isOver }: MemberProps) {
  const { name, path, vote, why, output } = member;
  const took = tookText(member);
  /** Properties that differ from the defaults, and the duration. */
  const more = [
    ...(definition?.manager === true ? ['manager'] : []),
    ...(definition !== undefined && definition.tier > 1 ? [`tier ${definition.tier}`] : []),
    ...(definition !== undefined && definition.weight !== 1 ? [`weight ${definition.weight}`] : []),
    ...(took === undefined ? [] : [took]),
  ];
  return (
    <li data-member={path}>
      <strong>
        <bdi>{name}</bdi>
      </strong>{' '}
      <Pill state={memberState(member, isOver)} />{' '}
      {vote !== null && (
        <span class="vote">
          voted <bdi>{vote}</bdi>
        </span>
      )}{' '}
      <span class="aside">{more.join(' · ')}</span>
      {why !== null && (
        <div class="note">
          <bdi>{why}</bdi>
        </div>
      )}
      {output !== null && output !== '' && (
        <details>
          <summary>response</summary>
          <pre>{output}</pre>
        </details>
      )}
    </li>
  );
}
