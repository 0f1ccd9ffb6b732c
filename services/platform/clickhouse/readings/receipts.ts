import { type BlockColumn, column, type NativeType } from '../encoding/fast-path/native-block.ts'
import { bool, id, instant, text, uint32 } from '../encoding/fast-path/native-types.ts'

type Batch = { readonly accountId: string; readonly liveMode: boolean; readonly batchId: string }

/** A submission as it arrived. */
export type BatchRow = Batch & {
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly receivedAt: number
}
/** So many records of a batch in one chunk are all stored or dead-lettered. */
export type BatchPartRow = Batch & { readonly chunkId: string; readonly recordsHandled: number }
/** A record that failed: at submission, or (`foundLater`) after it was accepted. */
export type BatchFailureRow = Batch & {
  readonly recordNumber: number
  readonly foundLater: boolean
  readonly recordReferenceId: string | null
  readonly error: string
  /** Whose record it is, as far as it says; an erasure finds it by these. */
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
]

const part = columnsOf<BatchPartRow>()
export const batchPartColumns: readonly BlockColumn<BatchPartRow>[] = [
  ...key<BatchPartRow>(),
  part('chunk_id', text, row => row.chunkId),
  part('records_handled', uint32, row => row.recordsHandled),
]

const noId = '0'.repeat(24)

const failure = columnsOf<BatchFailureRow>()
export const batchFailureColumns: readonly BlockColumn<BatchFailureRow>[] = [
  ...key<BatchFailureRow>(),
  failure('record_number', uint32, row => row.recordNumber),
  failure('found_later', bool, row => row.foundLater),
  failure('record_reference_id', text, row => row.recordReferenceId ?? ''),
  failure('error', text, row => row.error),
  failure('location_id', id('loc_'), row => row.locationId ?? `loc_${noId}`),
  failure('device_id', id('dev_'), row => row.deviceId ?? `dev_${noId}`),
]
