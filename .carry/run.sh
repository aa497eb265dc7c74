set -e
C=$PWD/.carry
if [ ! -d /opt/s ]; then
mkdir -p /opt/s /opt/t; tar -xJf $C/site.tar.xz -C /opt/s; tar -xJf $C/tree.tar.xz -C /opt/t
ls /opt/s | head -3
python3 -m venv --without-pip /opt/v; S=$(ls -d /opt/s/site 2>/dev/null || echo /opt/s); echo $S > $(ls -d /opt/v/lib/python3*/site-packages)/s.pth
cp $C/iclr_2026.csv.gz /opt/
cd /opt/t; git init -q . && git add -A >/dev/null 2>&1 && git -c user.name=a -c user.email=a@b commit -qm x
fi
cd /opt/t; export PATH=/opt/v/bin:$PATH PYTHONPATH=/opt/t/src:/opt/t/tests OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
"$@"
