import type { HostileInput } from './input.ts'
import { bills } from './inputs/bills.ts'
import { bodies } from './inputs/bodies.ts'
import { connect } from './inputs/connect.ts'
import { connections } from './inputs/connections.ts'
import { consolePages } from './inputs/console.ts'
import { definitions } from './inputs/definitions.ts'
import { imports } from './inputs/imports.ts'
import { numbers } from './inputs/numbers.ts'
import { paths } from './inputs/paths.ts'
import { plans } from './inputs/plans.ts'
import { reads } from './inputs/reads.ts'
import { records } from './inputs/records.ts'
import { registers } from './inputs/registers.ts'
import { tariffs } from './inputs/tariffs.ts'
import { webhooks } from './inputs/webhooks.ts'

/** Every input, by subject. */
export const corpus: readonly HostileInput[] = [
  ...numbers,
  ...paths,
  ...bodies,
  ...tariffs,
  ...imports,
  ...records,
  ...registers,
  ...reads,
  ...plans,
  ...bills,
  ...definitions,
  ...connect,
  ...consolePages,
  ...webhooks,
  ...connections,
]
