import { startLoad } from './load.ts';

/*
 * Pays at a service until it is killed, in a process of its own, so that whoever waits in the test's keeps
 * none of it waiting.
 */
const [url = '', workers = ''] = process.argv.slice(2);
startLoad(url, { workers: Number(workers) });
