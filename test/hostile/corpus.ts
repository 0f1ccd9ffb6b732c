import type { HostileInput } from './input.ts'
import { bodies } from './inputs/bodies.ts'
import { moreBodies } from './inputs/bodies-more.ts'
import { connect } from './inputs/connect.ts'
import { moreConnect } from './inputs/connect-more.ts'
import { connections } from './inputs/connections.ts'
import { consolePages } from './inputs/console.ts'
import { numbers } from './inputs/numbers.ts'
import { moreNumbers } from './inputs/numbers-more.ts'
import { paths } from './inputs/paths.ts'
import { plansOfAll } from './inputs/plans.ts'
import { reads } from './inputs/reads.ts'
import { moreReads } from './inputs/reads-more.ts'
import { records } from './inputs/records.ts'
import { moreRecords } from './inputs/records-more.ts'
import { tariffs } from './inputs/tariffs.ts'
import { webhooks } from './inputs/webhooks.ts'

/** Every input, by subject. */
export const corpus: readonly HostileInput[] = [
  ...numbers,
  ...moreNumbers,
  ...paths,
  ...bodies,
  ...moreBodies,
  ...tariffs,
  ...records,
  ...moreRecords,
  ...reads,
  ...moreReads,
  ...plansOfAll,
  ...connect,
  ...moreConnect,
  ...consolePages,
  ...webhooks,
  ...connections,
]
