import type { KafkaAssignment } from './kafka-assignment.ts'
import type { Offsets } from './kafka-offsets.ts'

export type KafkaAssignmentsOptions = {
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly openAssignment: (partition: number, committed: number) => KafkaAssignment
  readonly onOpened: (assignments: readonly KafkaAssignment[]) => void
  readonly log: (text: string, error?: unknown) => void
}

/** The lanes that a member of a group reads at the moment. */
export type KafkaAssignments = {
  readonly all: () => Iterable<KafkaAssignment>
  /** Hold the lanes of these partitions and no others: those that were taken away are lost when this returns, new ones are opened soon. */
  readonly assign: (assigned: ReadonlySet<number>) => void
  readonly loseAll: () => void
}

/** Begin with no lanes. One that could not be opened is opened with the next `hold`. */
export const kafkaAssignments = ({
  offsetsOf,
  openAssignment,
  onOpened,
  log,
}: KafkaAssignmentsOptions): KafkaAssignments => {
  const assignments = new Map<number, KafkaAssignment>()
  /** Partitions whose lanes are being opened, and by which attempt. */
  const opening = new Map<number, symbol>()

  /** Open lanes at what is committed now; those that were taken away meanwhile, even if given again, are not opened from it. */
  const open = async (partitions: readonly number[], attempt: symbol): Promise<void> => {
    const isWanted = (partition: number): boolean => opening.get(partition) === attempt
    try {
      const offsets = await offsetsOf()
      const created = partitions
        .filter(isWanted)
        .map(partition => openAssignment(partition, offsets[partition]?.committed ?? 0))
      for (const assignment of created) assignments.set(assignment.partition, assignment)
      onOpened(created)
    } catch (error) {
      log('lanes could not be opened', error)
    }
    for (const partition of partitions.filter(isWanted)) opening.delete(partition)
  }

  return {
    all: () => assignments.values(),
    assign: assigned => {
      for (const partition of [...assignments.keys(), ...opening.keys()].filter(one => !assigned.has(one))) {
        assignments.get(partition)?.lose()
        assignments.delete(partition)
        opening.delete(partition)
      }
      const missing = [...assigned].filter(partition => !assignments.has(partition) && !opening.has(partition))
      if (missing.length === 0) return
      const attempt = Symbol()
      for (const partition of missing) opening.set(partition, attempt)
      void open(missing, attempt)
    },
    loseAll: () => {
      for (const assignment of assignments.values()) assignment.lose()
      assignments.clear()
      opening.clear()
    },
  }
}
