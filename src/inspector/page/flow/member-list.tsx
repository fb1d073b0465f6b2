// The members of a fleet in a run: how far each has come, and what it has voted for.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { Pill } from '../pill.tsx';
import { memberState, tookText } from './node-words.ts';

interface MemberListProps {
  readonly members: readonly MemberRecord[];
  readonly isOver: boolean;
  /** Undefined where it is not known. */
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
          drawn={fleet?.members.find(({ name }) => name === member.name)}
        />
      ))}
    </ul>
  );
}

interface MemberProps extends Pick<MemberListProps, 'isOver'> {
  readonly member: MemberRecord;
  readonly drawn: FleetPlan['members'][number] | undefined;
}

function Member({ member, drawn, isOver }: MemberProps) {
  const { name, path, vote, why, output } = member;
  const took = tookText(member);
  const more = [
    ...(drawn?.manager === true ? ['manager'] : []),
    ...(drawn !== undefined && drawn.tier > 1 ? [`tier ${drawn.tier}`] : []),
    ...(drawn !== undefined && drawn.weight !== 1 ? [`weight ${drawn.weight}`] : []),
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
          <summary>its answer</summary>
          <pre>{output}</pre>
        </details>
      )}
    </li>
  );
}
