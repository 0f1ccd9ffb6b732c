import type { KafkaAssignment } from './kafka-assignment.ts'
import type { Offsets } from './kafka-offsets.ts'

export type KafkaAssignmentsOptions = {
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly openAssignment: (partition: number, committed: number) => KafkaAssignment
  readonly onOpened: (assignments: readonly KafkaAssignment[]) => void
  readonly log: (text: string, error?: unknown) => void
}

/** The current assignments of a group member. */
export type KafkaAssignments = {
  readonly all: () => Iterable<KafkaAssignment>
  /** Assign these partitions and no others. Removed partitions are lost when this returns; new ones are opened soon. */
  readonly assign: (assigned: ReadonlySet<number>) => void
  readonly loseAll: () => void
}

/** Create an empty set of assignments. The next `assign` opens again an assignment that could not be opened. */
export const kafkaAssignments = ({
  offsetsOf,
  openAssignment,
  onOpened,
  log,
}: KafkaAssignmentsOptions): KafkaAssignments => {
  const assignments = new Map<number, KafkaAssignment>()
  /** Partitions whose assignments are being opened, with the attempt. */
  const opening = new Map<number, symbol>()

  /**
   * Open assignments at their committed offsets. A partition that was taken away meanwhile is skipped, even if it was
   * assigned again.
   */
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
      log('Assignments could not be opened', error)
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
