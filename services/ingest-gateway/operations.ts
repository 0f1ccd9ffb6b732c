import { instantCost } from '../contract/costs/instant-cost.ts'
import { meterIntervalSubmit } from '../contract/metering/meter-batch.ts'
import { meterCumulativeSubmit } from '../contract/metering/meter-cumulative.ts'
import { meterImportUndo } from '../contract/metering/meter-import.ts'
import type { Secret } from '../platform/access/secrets.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type Binding, bind } from '../platform/http/binding.ts'
import { batchIds } from '../platform/ids/batch-id.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { type Log, recordTopic } from '../platform/log/log.ts'
import { partitionKey, partitionOf } from '../platform/log/partition.ts'
import type { Database } from '../platform/postgres/database.ts'
import { retrieveLocation } from '../platform/postgres/registry/locations.ts'
import { findActiveObjects, referenceFinder } from '../platform/postgres/registry/references.ts'
import { type Tenant, withTenant } from '../platform/postgres/transaction.ts'
import type { PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import type { ReferenceChanges } from '../platform/role-module.ts'
import { type ChunkWriter, chunkWriter } from './chunk-writer.ts'
import { calculateInstantCost } from './instant-cost.ts'
import { type KnownObjects, knownObjects } from './known-objects.ts'
import { type KnownReferences, knownReferences } from './known-references.ts'
import type { PartitionBacklog } from './partition-backlog.ts'
import { readingWriter } from './reading-writer.ts'
import { type GatewayCounters, type RecordEntrance, recordEntrance } from './record-entrance.ts'
import { submitCumulative } from './submit-cumulative.ts'
import { submitInterval, type ValidateCsv } from './submit-interval.ts'
import { undoImport } from './undo-import.ts'

export type IngestGatewayDependencies = {
  readonly database: Database
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly pricing: PricingCache
  /** Secret of the installation: the same in every process. */
  readonly secret: Secret
  /** Return the generation of the partitions. Throws `Failure` while it is unknown. */
  readonly generation: () => number
  /** Return whether a partition accepts records of an account and mode now. */
  readonly accepts: PartitionBacklog['accepts']
  readonly counts: GatewayCounters
  /** Validates bodies in text/csv; null if this service reads JSON only. */
  readonly validateCsv: ValidateCsv | null
  /** Changes of references that the query service of this process makes. */
  readonly referenceChanges: Pick<ReferenceChanges, 'listen'>
}

/** Parts that all ways in for records share: HTTP, and each further source of records. */
export type RecordIntake = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly writer: ChunkWriter
  readonly entrance: RecordEntrance
}

/** Create the shared parts over the stores: one cache of objects, one writer and one entrance for each process. */
export const recordIntake = (dependencies: IngestGatewayDependencies): RecordIntake => {
  const { database, log, codec, secret, generation, accepts, counts, referenceChanges } = dependencies
  const partitions = log.partitions(recordTopic)
  const known = knownObjects(
    (tenant, ids) =>
      withTenant(database, tenant, transaction => findActiveObjects(transaction, [...ids.locations], [...ids.devices])),
    (accountId, locationId) => partitionOf(partitionKey(accountId, locationId), partitions),
  )
  const references = knownReferences(referenceFinder(database))
  referenceChanges.listen(references.forget)
  const writerOptions = { log, codec, generation, accepts, onAppended: counts.accepted }
  const writer = chunkWriter(writerOptions)
  const entrance = recordEntrance({
    writer,
    readings: readingWriter(writerOptions),
    batchIds: batchIds(secret),
    counts,
  })
  return { known, references, writer, entrance }
}

/** Bind the operations that receive records to the stores. */
export const ingestGatewayOperations = (
  dependencies: IngestGatewayDependencies,
  { known, references, writer, entrance }: RecordIntake = recordIntake(dependencies),
): readonly Binding[] => {
  const { database, log, clickHouse, pricing, counts, validateCsv } = dependencies
  const locationOf = (tenant: Tenant, id: string) =>
    withTenant(database, tenant, transaction => retrieveLocation(transaction, id))
  return [
    bind(meterIntervalSubmit, submitInterval({ known, references, entrance, counts, validateCsv })),
    bind(meterCumulativeSubmit, submitCumulative({ known, references, entrance, counts })),
    bind(meterImportUndo, undoImport({ database, clickHouse, log, known, references, entrance })),
    bind(
      instantCost,
      calculateInstantCost({ known, references, writer, pricing, clickHouse, log, counts, locationOf }),
    ),
  ]
}
