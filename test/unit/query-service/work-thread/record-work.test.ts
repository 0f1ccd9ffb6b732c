import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { answerInApiVersion } from '../../../../services/contract/exchange.ts'
import {
  meterRecordList,
  meterRecordRetrieve,
  storedRecordToWire,
} from '../../../../services/contract/metering/meter-record-read.ts'
import { noOptions } from '../../../../services/domain/record/record.ts'
import type { MeterCostRow } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { WorkResult } from '../../../../services/platform/work-thread/work-messages.ts'
import { recordViewOf } from '../../../../services/query-service/costs/stored-row.ts'
import { recordListWork, recordWork } from '../../../../services/query-service/work-thread/record-work.ts'

const minuteMs = 60_000
const start = Date.UTC(2026, 2, 10)

const rowOf = (number: number, pieces: number): MeterCostRow => ({
  accountId: 'acc_1',
  liveMode: true,
  locationId: 'loc_1',
  deviceId: null,
  recordId: String(number).padStart(24, '0'),
  energyFlowDirection: number % 2 === 0 ? 'INBOUND' : 'OUTBOUND',
  tariffDirection: 'IMPORT',
  start,
  end: start + pieces * minuteMs,
  ...noOptions,
  sessionReferenceId: 'a "pieces":[] of "data":[]',
  energy: 10n * BigInt(pieces),
  energySubmitted: null,
  recordConfidence: 1_000_000,
  status: 'PRICED',
  cost: BigInt(pieces),
  currency: 'EUR',
  confidence: 1_000_000,
  tariffIds: ['trf_1'],
  marketSourceIds: [],
  pricingRevision: 1,
  priceRevision: 0n,
  batchId: null,
  version: 1n,
  sourceVersion: 1n,
  receivedAt: start,
  isDeleted: false,
  pieces: Array.from({ length: pieces }, (_, index) => ({
    start: start + index * minuteMs,
    end: start + (index + 1) * minuteMs,
    energy: 10n,
    price: BigInt(index) * 1_000_003n,
    tier: 0n,
    cost: 1n,
    confidence: 1_000_000,
  })),
})

const textOf = ({ chunks }: WorkResult): string => Buffer.concat([...chunks]).toString()

describe('records written in pieces', () => {
  it.each(apiVersions)(
    'have the text of records written at once, with any number of pieces, in API version %s',
    apiVersion => {
      for (const counts of [[], [0], [1], [1_023, 1_024, 1_025], [3_000, 1, 0, 2_049]]) {
        const rows = counts.map((pieces, number) => rowOf(number, pieces))
        const implausibleIds = rows.slice(1, 2).map(({ recordId }) => recordId)
        const data = rows.map((row, index) => storedRecordToWire(recordViewOf(row, index === 1)))
        const hasMore = counts.length > 1
        const list = { object: 'list', url: '/meters/records', has_more: hasMore, data }
        expect(textOf(recordListWork({ rows, blocks: [], implausibleIds, apiVersion, hasMore }))).toBe(
          JSON.stringify(answerInApiVersion(meterRecordList, list, apiVersion)),
        )
        for (const [index, row] of rows.entries()) {
          const whole = JSON.stringify(answerInApiVersion(meterRecordRetrieve, data[index], apiVersion))
          expect(textOf(recordWork({ rows: [row], blocks: [], implausibleIds, apiVersion }))).toBe(whole)
        }
      }
    },
  )
})
