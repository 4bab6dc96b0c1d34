import { electionRules } from '../../../src/protocol/kinds/election-rules.js';
import { NOW, STORED_WAITERS, filter, hasType, isLive, when } from '../../../src/protocol/expressions.js';
import type { Fields } from '../../../src/protocol/expressions.js';
import { PENDING_CALLS, callsOf } from '../../../src/protocol/jobs/job-calls.js';
import { isOfJob } from '../../../src/protocol/jobs/job-list.js';
import { keptLeasesProjection, leasesProjection } from '../../../src/protocol/pipeline/extension.js';
import { fastPath } from '../../../src/protocol/pipeline/fast-path.js';
import { keeperProjection } from '../../../src/protocol/pipeline/keeper-reads.js';
import { MARK_PROJECTION, pollProjection } from '../../../src/protocol/pipeline/polls.js';
import { verdictProjection, wellFormedProjection } from '../../../src/protocol/pipeline/verdict.js';
import { LEAVE_PROJECTION, replyProjection } from '../../../src/protocol/replies/reply.js';
import type { KindRules } from '../../../src/protocol/kind-rules.js';
import type { Random } from '../../../lab/random.js';
import { ALL_SEATS, KINDS_BY_LEASE_FIELDS } from '../../model/documents/lock-kinds.js';
import { cancel, enqueue, leave } from '../../model/documents/operations.js';
import { IDS } from './lock-cases.js';

/** A projection of lock documents that the library reads, or shows in a reply. */
export function drawProjection(random: Random, rules: KindRules): Fields {
  const process = random.pick(['p0', 'p1', 'p.2']);
  const ids = Array.from({ length: random.between(0, 3) }, () => random.pick(IDS));
  const kinds = random.percent(50) ? KINDS_BY_LEASE_FIELDS : ALL_SEATS;
  const counted = random.percent(50) ? process : undefined;
  switch (random.between(1, 12)) {
    case 1:
      return pollProjection(kinds, process);
    case 2:
      return keeperProjection(kinds, process);
    case 3:
      return leasesProjection(kinds, process, random.percent(50) ? ids : undefined);
    case 4:
      return keptLeasesProjection(kinds, process, random.percent(50) ? ids : undefined);
    case 5:
      return random.percent(50) ? MARK_PROJECTION : LEAVE_PROJECTION;
    case 6:
      return { now: NOW, document: '$$ROOT', ...wellFormedProjection(...ALL_SEATS) };
    case 7:
      return fastPath(rules, random.percent(50) ? leave('wh') : enqueue('w9'))?.fields ?? MARK_PROJECTION;
    case 8:
      return ofElection(random);
    case 9:
      return { ...replyProjection(rules, ['w1'], counted), ...verdictProjection(rules, [enqueue('w1')]) };
    default:
      return { ...replyProjection(rules, ids, counted), ...verdictProjection(rules, [cancel('w1')]) };
  }
}

function ofElection(random: Random): Fields {
  const standbys = { $map: { input: filter(STORED_WAITERS, isLive('$$this.v.expiresAt')), in: '$$this.v' } };
  const claims = when(hasType('$claims', 'array'), filter('$claims', isOfJob('mail')), []);
  const common: Fields = { now: NOW, kind: 1, holder: 1, ...wellFormedProjection(electionRules) };
  return random.pick<Fields>([
    { ...common, standbys },
    { ...common, claims, calls: callsOf('mail') },
    { ...common, claims: 1, calls: PENDING_CALLS },
  ]);
}
