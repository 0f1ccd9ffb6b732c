import { currentInstant } from '../platform/clock.ts'
import { pricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { timeZone } from '../platform/time-zone.ts'
import { ingestGatewayOperations, recordIntake } from './operations.ts'
import { partitionBacklog } from './partition-backlog.ts'

const backlogPollMs = 2_000

/** Open the gateway. It reads the backlog of its partitions until the stack is disposed. */
export const openIngestGateway = (shared: SharedDependencies, opening: AsyncDisposableStack): RoleModule => {
  const { database, log, metrics, secrets, generation } = shared
  const counts = {
    accepted: (partition: number, records: number) => metrics.accepted.inc({ lane: String(partition) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
  }
  const pricing = pricingCache(database, timeZone)
  const { accepts, refresh } = partitionBacklog(log, shared.slowBacklog)
  const timer = setInterval(() => void refresh(currentInstant()), backlogPollMs)
  opening.defer(() => clearInterval(timer))
  const dependencies = { ...shared, pricing, secret: secrets.secret, generation, accepts, counts }
  const intake = recordIntake(dependencies)
  return { ...emptyRoleModule, operations: ingestGatewayOperations(dependencies, intake) }
}
