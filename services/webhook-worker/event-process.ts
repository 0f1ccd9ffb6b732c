import { parentPort } from 'node:worker_threads'
import { serveWork } from '../platform/work-thread/serve-work.ts'
import { eventWork } from './event-body.ts'

// The thread loads all modules that are imported here. They must not open a store.
if (parentPort === null) throw new Error('This file runs in a worker thread only.')
serveWork(parentPort, eventWork)
