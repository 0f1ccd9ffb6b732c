import { ingestGatewayOperations } from './ingest-gateway/operations.ts'
import { emptyPart, type Part, type Shared } from './part.ts'
import { pricingBook } from './platform/pricing-book.ts'
import { timeZone } from './platform/time-zone.ts'

export const openIngestGateway = (shared: Shared): Part => {
  const { database, metrics, secrets, generation } = shared
  const counts = {
    accepted: (lane: number, records: number) => metrics.accepted.inc({ lane: String(lane) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
  }
  const pricing = pricingBook(database, timeZone)
  return {
    ...emptyPart,
    operations: ingestGatewayOperations({ ...shared, pricing, secret: secrets.secret, generation: () => generation, counts }),
  }
}
