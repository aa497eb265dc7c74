P=/opt/v/bin/python
mkdir -p /opt/logs
job() { name=$1; shift; setsid nohup "$@" > /opt/logs/$name.log 2>&1 & }
job iclr12 taskset -c 0,1 $P bench/bench_real_scores.py --scores /opt/iclr_2026.csv.gz --pool 12
job iclr60 taskset -c 2,3 $P bench/bench_real_scores.py --scores /opt/iclr_2026.csv.gz --pool 60 --papers 400
job twice bash -c "taskset -c 4,5 $P bench/bench_real_scores.py --papers 150 --pool 120 --grid 1,2,3,4,5,6,7,8,9,10; taskset -c 4,5 $P bench/bench_real_scores.py --papers 1660 --pool 30 --grid 1,2,3,4,5,6,7,8,9,10"
sed 's/subprocess.run(/subprocess.run((["taskset","-c","8,9"] if command[0]=="verify" else ["taskset","-c","8-11"])+/' bench/bench_real_scores.py > bench/b2.py
job verify12 taskset -c 8-11 $P bench/b2.py --scores /opt/iclr_2026.csv.gz --pool 12
job core bash -c "taskset -c 6,7,12-15 env BLINDCAL_LONG=1 $P -m pytest -q -n 6 --dist worksteal -m 'not edge' -p no:cacheprovider tests > /opt/logs/core.txt 2>&1; tail -40 /opt/logs/core.txt"
