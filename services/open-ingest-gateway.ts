import { lanePressure } from './ingest-gateway/lane-pressure.ts'
import { ingestGatewayOperations } from './ingest-gateway/operations.ts'
import { emptyPart, type Part, type Shared } from './part.ts'
import { presentInstant } from './platform/clock.ts'
import { pricingBook } from './platform/pricing-book.ts'
import { timeZone } from './platform/time-zone.ts'

const lookEveryMs = 2_000

/** Open the gateway; it looks at its lanes until the stack is disposed of. */
export const openIngestGateway = (shared: Shared, opening: AsyncDisposableStack): Part => {
  const { database, log, metrics, secrets, generation } = shared
  const counts = {
    accepted: (lane: number, records: number) => metrics.accepted.inc({ lane: String(lane) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
  }
  const pricing = pricingBook(database, timeZone)
  const { takes, look } = lanePressure(log, shared.slowBacklog)
  const looking = setInterval(() => void look(presentInstant()), lookEveryMs)
  opening.defer(() => clearInterval(looking))
  return {
    ...emptyPart,
    operations: ingestGatewayOperations({ ...shared, pricing, secret: secrets.secret, generation, takes, counts }),
  }
}
