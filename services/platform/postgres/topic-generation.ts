import sql from 'sql-template-tag'
import { toTimestamp } from './column.ts'
import { type Query, readFirst } from './database.ts'

/** Generation of a topic, which leads the versions of its rows, and its number of partitions. */
export type TopicGeneration = { readonly generation: number; readonly partitions: number }

/** Read the generation of a topic; null before its registration. */
export const readTopicGeneration = (operator: Query, topic: string): Promise<TopicGeneration | null> =>
  readFirst(operator)(sql`select generation, partitions from lane_generations where topic = ${topic}`)

/**
 * Register a topic with generation 0, or raise its generation after the topic was created again or its partitions
 * changed. `expected`: the generation that the caller has read (null: none). Returns null if another process was
 * faster. Generations are below 1,024.
 */
export const raiseTopicGeneration = async (
  operator: Query,
  topic: string,
  expected: number | null,
  partitions: number,
  at: number,
): Promise<TopicGeneration | null> => {
  const { rows } =
    expected === null
      ? await operator<TopicGeneration>(sql`
          insert into lane_generations (topic, generation, partitions, time_updated)
          values (${topic}, 0, ${partitions}, ${toTimestamp(at)})
          on conflict do nothing returning generation, partitions`)
      : await operator<TopicGeneration>(sql`
          update lane_generations set generation = generation + 1, partitions = ${partitions},
            time_updated = ${toTimestamp(at)}
          where topic = ${topic} and generation = ${expected} returning generation, partitions`)
  return rows[0] ?? null
}
