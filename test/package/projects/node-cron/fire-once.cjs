const { strictEqual } = require('node:assert');

/** A task fires once, and another provider finds that this fire is taken. */
exports.fireOnce = async ({ LockProvider, runCoordinator, MongoClient, cron }, name) => {
  const client = new MongoClient(process.env.MONGODB_URI);
  const [locks, others] = [1, 2].map(() => new LockProvider(client.db('node-cron')));
  const instant = await firstFire(cron, { name, runCoordinator: runCoordinator(locks) });
  const again = await runCoordinator(others).shouldRun(`${name}:${instant.toISOString()}`, 0);
  strictEqual(again, false);
  await Promise.all([locks.close(), others.close()]);
  await client.close();
  console.log(`${name}: one fire`);
};

/** Resolves with the instant of the first fire that runs. Rejects if none does within 30 s. */
async function firstFire(cron, coordination) {
  let task;
  let timer;
  try {
    return await new Promise((resolve, reject) => {
      // A busy machine may wake this process late; the fire then counts as missed without the tolerance.
      const options = { ...coordination, distributed: true, missedExecutionTolerance: 900 };
      task = cron.schedule('* * * * * *', ({ date }) => resolve(date), options);
      task.on('execution:skipped', ({ reason }) => reject(new Error(`the fire was skipped: ${reason}`)));
      timer = setTimeout(() => reject(new Error('no fire has run')), 30_000);
    });
  } finally {
    clearTimeout(timer);
    await task?.destroy();
  }
}
