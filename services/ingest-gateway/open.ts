import type { WarningCode } from '../domain/record/warnings.ts'
import { currentInstant } from '../platform/clock.ts'
import { recordTopic } from '../platform/log/log.ts'
import { pricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { timeZone } from '../platform/time-zone.ts'
import { ingestGatewayOperations, recordIntake } from './operations.ts'
import { partitionBacklog } from './partition-backlog.ts'
import type { ValidateCsv } from './submit-interval.ts'

const backlogPollMs = 2_000

/** Open the gateway, with a reader of CSV bodies or null. It reads the backlog of its partitions until the stack is disposed. */
export const openIngestGateway = (
  shared: SharedDependencies,
  opening: AsyncDisposableStack,
  validateCsv: ValidateCsv | null,
): RoleModule => {
  const { database, log, metrics, secrets, generation } = shared
  const counts = {
    accepted: (partition: number, records: number) => metrics.accepted.inc({ lane: String(partition) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
    warned: (code: WarningCode, records: number) => metrics.warned.inc({ code }, records),
  }
  const pricing = pricingCache(database, timeZone)
  const { accepts, isFull, refresh } = partitionBacklog(log, shared.slowBacklog)
  const takesRecords = (): boolean => log.hasSpace(recordTopic) && !isFull()
  const poll = async (): Promise<void> => {
    await refresh(currentInstant())
    metrics.partRefuses.set({ part: 'metering' }, takesRecords() ? 0 : 1)
  }
  const timer = setInterval(() => void poll().catch(() => undefined), backlogPollMs)
  opening.defer(() => clearInterval(timer))
  const dependencies = { ...shared, pricing, secret: secrets.secret, generation, accepts, counts, validateCsv }
  const intake = recordIntake(dependencies)
  return {
    ...emptyRoleModule,
    operations: ingestGatewayOperations(dependencies, intake),
    partChecks: [{ name: 'metering', isHealthy: takesRecords }],
  }
}
