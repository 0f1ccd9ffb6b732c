import type { SubmissionWarning } from '../../../domain/record/warnings.ts'
import { type BlockColumn, column, type NativeType } from '../encoding/fast-path/native-block.ts'
import { array, bool, id, instant, optionalId, optionalText, text, uint32 } from '../encoding/fast-path/native-types.ts'

type Batch = { readonly accountId: string; readonly liveMode: boolean; readonly batchId: string }

/** Counts of a submission at arrival. */
export type BatchRow = Batch & {
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly receivedAt: number
  readonly warnings?: readonly SubmissionWarning[]
}
/** Number of records of a batch in one chunk, after all are stored or dead-lettered. */
export type BatchPartRow = Batch & { readonly chunkId: string; readonly recordsHandled: number }
/** A failed record: refused at submission, or (`foundLater`) dead-lettered after it was accepted. */
export type BatchFailureRow = Batch & {
  readonly recordNumber: number
  readonly foundLater: boolean
  readonly recordReferenceId: string | null
  readonly error: string
  /** Location and device that the record names, null if unknown. An erasure finds the failure by them. */
  readonly locationId: string | null
  readonly deviceId: string | null
}

const columnsOf =
  <Row>() =>
  <T>(name: string, nativeType: NativeType<T>, value: (row: Row) => T): BlockColumn<Row> =>
    column(name, nativeType, value)
const key = <Row extends Batch>(): readonly BlockColumn<Row>[] => [
  column('account_id', id('acc_'), (row: Row) => row.accountId),
  column('live_mode', bool, (row: Row) => row.liveMode),
  column('batch_id', id('bat_'), (row: Row) => row.batchId),
]

const batch = columnsOf<BatchRow>()
export const batchColumns: readonly BlockColumn<BatchRow>[] = [
  ...key<BatchRow>(),
  batch('records_submitted', uint32, row => row.recordsSubmitted),
  batch('records_accepted', uint32, row => row.recordsAccepted),
  batch('received_at', instant, row => row.receivedAt),
  batch('warning_codes', array(text), ({ warnings = [] }) => warnings.map(({ code }) => code)),
  batch('warning_records', array(uint32), ({ warnings = [] }) => warnings.map(({ records }) => records)),
  batch('warning_numbers', array(array(uint32)), ({ warnings = [] }) => warnings.map(one => one.recordNumbers)),
]

const part = columnsOf<BatchPartRow>()
export const batchPartColumns: readonly BlockColumn<BatchPartRow>[] = [
  ...key<BatchPartRow>(),
  part('chunk_id', text, row => row.chunkId),
  part('records_handled', uint32, row => row.recordsHandled),
]

const failure = columnsOf<BatchFailureRow>()
export const batchFailureColumns: readonly BlockColumn<BatchFailureRow>[] = [
  ...key<BatchFailureRow>(),
  failure('record_number', uint32, row => row.recordNumber),
  failure('found_later', bool, row => row.foundLater),
  failure('record_reference_id', optionalText, row => row.recordReferenceId),
  failure('error', text, row => row.error),
  failure('location_id', optionalId('loc_'), row => row.locationId),
  failure('device_id', optionalId('dev_'), row => row.deviceId),
]
